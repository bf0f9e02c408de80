// Package backendtest checks storage backends: does one keep the promises of package fake, which are those of CSI?
//
//	func TestDriver(t *testing.T) {
//		backendtest.Run(t, func() storage.Backend { return NewDriver() })
//	}
//
// Only what the backend can do is checked. Where CSI leaves it to the driver whether to refuse something, such as a
// second node, nothing is checked. In-tree plugins have no codes: with them any error is a refusal.
package backendtest
