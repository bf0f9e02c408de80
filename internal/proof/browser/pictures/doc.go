// Package pictures tests the pictures that package tools/picture writes in Chromium.
package pictures
