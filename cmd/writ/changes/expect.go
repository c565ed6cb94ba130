package changes

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/syntax"
)

// expectedChanges is the document of --expect and --write-expect.
type expectedChanges struct {
	documentHeader `yaml:",inline"`

	Spec struct {
		Changes []expectedChange `yaml:"changes"`
	} `yaml:"spec"`
}

type expectedChange struct {
	ID     string        `yaml:"id,omitempty"`
	Reach  *expectedPath `yaml:"reach,omitempty"`
	Change string        `yaml:"change"`
	Text   string        `yaml:"text"`
	Until  string        `yaml:"until,omitempty"`
	Reason string        `yaml:"reason,omitempty"`
}

// expectedPath is a path of a change.
type expectedPath struct {
	From string `yaml:"from"`
	To   string `yaml:"to"`
}

func (c *expectedChange) read() (e diff.ExpectedChange, err error) {
	e = diff.ExpectedChange{ID: c.ID, Change: c.Change, Text: c.Text, Reason: c.Reason}
	if c.Reach != nil {
		e.Reach = &diff.ReachPair{From: c.Reach.From, To: c.Reach.To}
	}
	if c.Until != "" {
		e.Until, err = dates.Parse(c.Until)
	}
	return e, err
}

const (
	expectedVersion = "writ.dev/v1"
	expectedKind    = "ExpectedChanges"
)

// readExpected reads the expected changes of a file, or of standard input.
func readExpected(name string, s cli.Streams) ([]diff.ExpectedChange, error) {
	var document expectedChanges
	content, bad, err := readDocument(name, s, "bad-expect", expectedKind, &document)
	if err != nil {
		return nil, err
	}
	var out []diff.ExpectedChange
	for i, c := range document.Spec.Changes {
		switch {
		case c.ID == "" && c.Reach == nil:
			return nil, bad("line %d: changes[%d].id is missing", lineOf(content, i), i)
		case c.ID != "" && c.Reach != nil:
			return nil, bad("line %d: changes[%d] must have id or reach, not both", lineOf(content, i), i)
		case c.Reach != nil && (c.Reach.From == "" || c.Reach.To == ""):
			return nil, bad("line %d: changes[%d].reach must have from and to", lineOf(content, i), i)
		case !slices.Contains(diff.Kinds(), c.Change):
			return nil, bad("line %d: changes[%d].change must be one of %s", lineOf(content, i), i, strings.Join(diff.Kinds(), ", "))
		}
		e, err := c.read()
		if err != nil {
			return nil, bad("line %d: changes[%d].until must be an RFC 3339 time such as 2026-01-31T09:00:00Z, not %q", lineOf(content, i), i, c.Until)
		}
		out = append(out, e)
	}
	return out, nil
}

// documentHeader is the beginning of a document that a flag names.
type documentHeader struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct {
		Name string `yaml:"name"`
	} `yaml:"metadata"`
}

func (h *documentHeader) header() *documentHeader { return h }

// readDocument reads a document of a kind from a file, or from standard input. It returns the
// content, and what makes an error with a code of a mistake in the file.
func readDocument(name string, s cli.Streams, code, kind string, into interface{ header() *documentHeader }) (content []byte, bad func(format string, args ...any) error, err error) {
	bad = func(format string, args ...any) error {
		return &diffError{Code: code, Message: name + ": " + fmt.Sprintf(format, args...)}
	}
	if content, err = cli.ReadAll(s.In, name); err != nil {
		return nil, nil, &diffError{Code: code, Message: err.Error()}
	}
	if err := syntax.DecodeStrict(content, into); err != nil {
		return nil, nil, bad("%v", err) // it names the line
	}
	if h := into.header(); h.APIVersion != expectedVersion || h.Kind != kind {
		return nil, nil, bad("line 1: must be a %s %s", expectedVersion, kind)
	}
	return content, bad, nil
}

// lineOf returns the line of an expected change of a document that was decoded.
func lineOf(content []byte, i int) int {
	var document struct {
		Spec struct {
			Changes []yaml.Node `yaml:"changes"`
		} `yaml:"spec"`
	}
	if yaml.Unmarshal(content, &document) != nil || i >= len(document.Spec.Changes) {
		return 1
	}
	return document.Spec.Changes[i].Line
}

// writeExpected writes the changes of a report for --expect, with the reasons and times of
// earlier entries.
func writeExpected(name string, r *diff.Report, earlier []diff.ExpectedChange) error {
	document := expectedChanges{documentHeader: documentHeader{APIVersion: expectedVersion, Kind: expectedKind}}
	document.Metadata.Name = "expected"
	document.Spec.Changes = []expectedChange{}
	for _, c := range r.Expected(earlier) {
		written := expectedChange{ID: c.ID, Change: c.Change, Text: c.Text, Reason: c.Reason}
		if c.Reach != nil {
			written.Reach = &expectedPath{c.Reach.From, c.Reach.To}
		}
		if !c.Until.IsZero() {
			written.Until = dates.Format(c.Until)
		}
		document.Spec.Changes = append(document.Spec.Changes, written)
	}
	content, err := yaml.Marshal(document)
	if err != nil {
		return err
	}
	return os.WriteFile(name, content, 0o644) //nolint:gosec // it is committed with the documents
}
