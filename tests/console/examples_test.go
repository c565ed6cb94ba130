package console

import (
	"bytes"
	"os"
	"testing"

	"github.com/writ-policy/writ/translator/roles"
)

func TestVerifyShowsWhatCommandsPrint(t *testing.T) { checkConsole(t, "../../docs/verify.md") }

func TestExamplesShowWhatCommandsPrint(t *testing.T) { checkConsole(t, "../../examples/README.md") }

// The examples say that they hold the stock roles.
func TestExamplesHoldTheStockRoles(t *testing.T) {
	for _, row := range []struct {
		family, file string
		names        []string
	}{
		{roles.Origin, "../../examples/policies/stock/origin.yaml", nil},
		{roles.Kubernetes, "../../examples/policies/stock/kubernetes.yaml", []string{"view", "edit"}},
	} {
		want, err := roles.Documents(row.family, row.names...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(row.file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what `writ roles --family %s` prints", row.file, row.family)
		}
	}
}
