// Command export writes the roles and bindings that Kubernetes creates in every
// cluster into a folder, testdata/default unless another is named.
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
	if err := export(folder); err != nil {
		fmt.Fprintln(os.Stderr, "export:", err)
		os.Exit(1)
	}
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
