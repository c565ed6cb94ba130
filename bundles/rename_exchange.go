package bundles

import "os"

// renameExchangeSlow exchanges two folders through a third name. Between its steps b does
// not exist. It returns an error if a step fails, after it has undone the first one.
func renameExchangeSlow(a, b string) error {
	aside := a + ".old"
	if err := os.Rename(b, aside); err != nil {
		return err
	}
	if err := os.Rename(a, b); err != nil {
		os.Rename(aside, b)
		return err
	}
	return os.Rename(aside, a)
}
