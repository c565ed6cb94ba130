package documents

import (
	"fmt"
	"io"

	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// WriteReport writes the diagnostics to standard output, and for text the counts to
// standard error: the other formats contain them. It returns a finding if one of the
// diagnostics is an error.
func (r *Translation) WriteReport(s cli.Streams, format string) error {
	r.ApplyStrict()
	if err := r.WriteDiagnostics(s.Out, format); err != nil {
		return err
	}
	switch {
	case r.List.HasErrors() && format == "text":
		return cli.Findingf("%s", r.summary())
	case r.List.HasErrors():
		return &cli.Finding{}
	case format == "text":
		fmt.Fprintf(s.Err, "%s: %s\n", r.read(), r.summary())
	}
	return nil
}

// ApplyStrict makes warnings errors if the flags ask for it. It is called when the list is
// complete: before, an error would leave out what follows.
func (r *Translation) ApplyStrict() {
	if !r.strict {
		return
	}
	for i := range r.List {
		r.List[i].Severity = diag.Error
	}
}

// read formats how many documents were read: "14 documents, 9 of other kinds skipped".
func (r *Translation) read() string {
	text := diag.Counted(r.Result.Documents+len(r.Skipped), "document")
	if len(r.Skipped) > 0 {
		text += fmt.Sprintf(", %d of other kinds skipped", len(r.Skipped))
	}
	if n := r.ignored(); n > 0 {
		text += ", " + diag.Counted(n, "path") + " left out by patterns"
	}
	return text
}

// ignored returns the number of files and folders that patterns leave out.
func (r *Translation) ignored() (n int) {
	for _, origin := range r.snapshot.Origins {
		n += origin.Ignored
	}
	return n
}

// MaxShown bounds the diagnostics in text output. JSON and SARIF contain all of them.
const MaxShown = 200

// WriteDiagnostics writes the diagnostics in one of the formats of check.
func (r *Translation) WriteDiagnostics(w io.Writer, format string) error {
	switch format {
	case "json":
		return diag.WriteIndented(w, checkReport{
			diag.NewReport(r.List, r.silenced), skippedOf(r.Skipped), r.ignored(), r.Overridden, notesOf(r.Notes), r.conditions,
		})
	case "sarif":
		return diag.WriteSARIF(w, r.List, r.silenced, cli.Version())
	}
	return diag.WriteText(w, r.List, diag.TextOptions{Source: r.text, Color: cli.Colours(w), Most: MaxShown})
}

// checkReport adds what was not read, the replaced settings, and the conditions of gateway policies
// for a directory that does not compile.
type checkReport struct {
	diag.Report
	Skipped          []skippedDocument                    `json:"skipped"`
	Ignored          int                                  `json:"ignored"`
	Overridden       []overriddenSetting                  `json:"overridden,omitempty"`
	Notes            []reportNote                         `json:"notes,omitempty"`
	PolicyConditions map[string][]tables.GatewayCondition `json:"policyConditions,omitempty"`
}

type reportNote struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Message string `json:"message"`
}

func notesOf(list []translator.Note) []reportNote {
	out := make([]reportNote, 0, len(list))
	for _, n := range list {
		line, _ := n.At.Shown()
		out = append(out, reportNote{n.At.File, line, n.Message})
	}
	return out
}

type skippedDocument struct {
	File       string `json:"file"`
	Line       int    `json:"line"`
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

func skippedOf(list []syntax.Skipped) []skippedDocument {
	out := make([]skippedDocument, 0, len(list))
	for _, s := range list {
		out = append(out, skippedDocument{s.At.File, s.At.Line, s.APIVersion, s.Kind})
	}
	return out
}

// text returns the content of a file, or nil if it is not part of the snapshot.
func (r *Translation) text(file string) []byte {
	for _, origin := range r.snapshot.Origins {
		if origin.SettingsFile.Path == file {
			return origin.SettingsFile.Content.Bytes()
		}
	}
	for _, f := range r.snapshot.Files {
		if f.Path == file {
			return f.Content.Bytes()
		}
	}
	return nil
}

// summary adds the number of silenced warnings to the counts, and that a baseline was not written.
func (r *Translation) summary() string {
	text := Summary(r.List)
	if len(r.silenced) > 0 {
		text += fmt.Sprintf(", %d silenced", len(r.silenced))
	}
	if r.baselineIsLeft {
		text += "; no baseline is written of documents with errors"
	}
	return text
}

// Summary formats the counts of a list: "2 errors, 1 warning".
func Summary(list diag.List) string { return diag.Tally(list.Sorted().Count()) }
