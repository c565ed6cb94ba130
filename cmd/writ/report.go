package main

import (
	"io"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/lower"
)

// mostShown bounds what a person is shown of a directory full of mistakes. The
// forms for programs are whole.
const mostShown = 200

// reportTo writes a reading's diagnostics in one of the forms of check.
func reportTo(w io.Writer, format string, r *reading) error {
	switch format {
	case "json":
		return writeJSON(w, checkReport{diag.NewReport(r.list), r.conditions})
	case "sarif":
		return diag.WriteSARIF(w, r.list, programVersion())
	}
	return diag.WriteText(w, r.list, diag.TextOptions{Source: r.text, Color: colours(w), Most: mostShown})
}

// checkReport is a report with what became of gateway policies in a directory that
// does not compile.
type checkReport struct {
	diag.Report
	PolicyConditions map[string][]lower.GatewayCondition `json:"policyConditions,omitempty"`
}

// text is a file's, for the line a diagnostic is about.
func (r *reading) text(file string) []byte {
	for _, f := range r.snapshot.Files {
		if f.Path == file {
			return f.Content
		}
	}
	return nil
}

// summary counts a list: "2 errors, 1 warning".
func summary(list diag.List) string { return diag.Tally(list.Sorted().Count()) }
