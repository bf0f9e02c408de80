// Package playground tests the playground (web) in Chromium.
package playground
