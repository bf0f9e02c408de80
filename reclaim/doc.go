// Package reclaim placeholder
package reclaim
