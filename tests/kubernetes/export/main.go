// Command export writes the roles and bindings that Kubernetes creates in every
// cluster into a folder, testdata/default unless another is named, and without one also
// the file that writ embeds.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/writ-policy/writ/tests/kubernetes"
)

func main() {
	folder := filepath.Join("testdata", "default")
	if len(os.Args) > 1 {
		folder = os.Args[1]
	}
	err := export(folder)
	if err == nil && len(os.Args) == 1 {
		err = embed()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "export:", err)
		os.Exit(1)
	}
}

// embed writes the file of package roles.
func embed() error {
	text, err := kubernetes.Compact()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join("..", "..", kubernetes.Embedded), text, 0o644)
}

func export(folder string) error {
	files, err := kubernetes.Bootstrap()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
