// Package browser tests the playground (web) in Chromium.
package browser
