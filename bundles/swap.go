package bundles

import "os"

// swap exchanges two folders by way of a third name. For a moment there is none
// at b; if the second step fails, the first is undone.
func swap(a, b string) error {
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
