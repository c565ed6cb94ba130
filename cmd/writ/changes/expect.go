package changes

import (
	"fmt"
	"os"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/writ-policy/writ/translator/change"
	"github.com/writ-policy/writ/translator/syntax"
)

// expectedChanges is the document of --expect and --write-expect.
type expectedChanges struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct {
		Name string `yaml:"name"`
	} `yaml:"metadata"`
	Spec struct {
		Changes []expectedChange `yaml:"changes"`
	} `yaml:"spec"`
}

type expectedChange struct {
	ID     string `yaml:"id"`
	Change string `yaml:"change"`
	Text   string `yaml:"text"`
}

const expectedKind = "ExpectedChanges"

// readExpected reads the expected changes of a file.
func readExpected(name string) ([]change.ExpectedChange, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, &diffError{Code: "bad-expect", Message: err.Error()}
	}
	var document expectedChanges
	bad := func(format string, args ...any) error {
		return &diffError{Code: "bad-expect", Message: name + ": " + fmt.Sprintf(format, args...)}
	}
	if err := syntax.DecodeStrict(content, &document); err != nil {
		return nil, bad("%v", err) // it names the line
	}
	if document.APIVersion != "writ.dev/v1" || document.Kind != expectedKind {
		return nil, bad("line 1: must be a writ.dev/v1 %s", expectedKind)
	}
	var out []change.ExpectedChange
	for i, c := range document.Spec.Changes {
		if c.ID == "" || !slices.Contains(change.Kinds(), c.Change) {
			return nil, bad("line 1: changes[%d] must have an id and a change", i)
		}
		out = append(out, change.ExpectedChange(c))
	}
	return out, nil
}

// writeExpected writes the changes of a report for --expect.
func writeExpected(name string, r *change.Report) error {
	document := expectedChanges{APIVersion: "writ.dev/v1", Kind: expectedKind}
	document.Metadata.Name = "expected"
	document.Spec.Changes = []expectedChange{}
	for _, c := range r.Expected() {
		document.Spec.Changes = append(document.Spec.Changes, expectedChange(c))
	}
	content, err := yaml.Marshal(document)
	if err != nil {
		return err
	}
	return os.WriteFile(name, content, 0o644) //nolint:gosec // it is committed with the documents
}
