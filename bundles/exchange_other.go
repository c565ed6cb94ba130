//go:build !linux

package bundles

func exchange(a, b string) error { return swap(a, b) }
