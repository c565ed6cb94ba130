package builtin

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
)

// A new version of OPA must not bring a function that is not classified, and the table
// has no function that OPA does not have.
func TestEveryBuiltinIsClassified(t *testing.T) {
	known := make(map[string]bool)
	for _, b := range ast.CapabilitiesForThisVersion().Builtins {
		known[b.Name] = true
		classified, ok := table[b.Name]
		if !ok || classified.reason == "" {
			t.Errorf("%s: not classified; decide whether its cost is bounded by its arguments", b.Name)
		}
		if b.Nondeterministic && b.Name != ast.NowNanos.Name && classified.class != excluded {
			t.Errorf("%s: got class %d for a function that is not deterministic", b.Name, classified.class)
		}
	}
	for name := range table {
		if !known[name] {
			t.Errorf("%s: OPA has no such function", name)
		}
	}
}

func TestCapabilities(t *testing.T) {
	c := Capabilities()
	if len(c.AllowNet) != 0 || c.AllowNet == nil {
		t.Errorf("got hosts %v, want none", c.AllowNet)
	}
	for _, b := range c.Builtins {
		if _, is := IsExcluded(b.Name); is {
			t.Errorf("%s is among the capabilities", b.Name)
		}
	}
	if len(c.Builtins) == 0 {
		t.Error("got no functions")
	}
}

//go:generate go test -run TestDocument -update .

var update = flag.Bool("update", false, "rewrite docs/builtins.md")

// docs/builtins.md has the table. `make gen` rewrites it.
func TestDocument(t *testing.T) {
	if *update && os.Getenv("CI") != "" {
		t.Fatal("-update is rejected in CI")
	}
	const path = "../../docs/builtins.md"
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	may, mayNot := tables()
	for name, want := range map[string]string{"allowed": may, "excluded": mayNot} {
		begin, end := "<!-- "+name+": begin -->\n", "<!-- "+name+": end -->"
		before, rest, ok := strings.Cut(text, begin)
		got, after, found := strings.Cut(rest, end)
		if !ok || !found {
			t.Fatalf("%s has no markers for %s", path, name)
		}
		if got != want && !*update {
			t.Errorf("%s: the table %s is out of date; run make gen", path, name)
		}
		text = before + begin + want + end + after
	}
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// tables returns the Markdown tables of docs/builtins.md: the functions that may be
// called, with the reason or bound, and those that may not.
func tables() (may, mayNot string) {
	var can, cannot strings.Builder
	can.WriteString("| function | reason or bound |\n| --- | --- |\n")
	cannot.WriteString("| function | reason |\n| --- | --- |\n")
	for _, name := range slices.Sorted(maps.Keys(table)) {
		switch b := table[name]; b.class {
		case excluded:
			fmt.Fprintf(&cannot, "| `%s` | %s |\n", name, b.reason)
		case bounded:
			fmt.Fprintf(&can, "| `%s` | bounded: %s |\n", name, b.reason)
		default:
			fmt.Fprintf(&can, "| `%s` | %s |\n", name, b.reason)
		}
	}
	return can.String(), cannot.String()
}
