//go:build !linux

package bundles

func renameExchange(a, b string) error { return renameExchangeSlow(a, b) }
