package main

import (
	"io"

	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// maxShown bounds the diagnostics in text output. JSON and SARIF contain all of them.
const maxShown = 200

// reportTo writes the diagnostics in one of the formats of check.
func reportTo(w io.Writer, format string, r *translation) error {
	switch format {
	case "json":
		return diag.WriteIndented(w, checkReport{diag.NewReport(r.list), skippedOf(r.skipped), r.ignored(), r.overridden, notesOf(r.notes), r.conditions})
	case "sarif":
		return diag.WriteSARIF(w, r.list, programVersion())
	}
	return diag.WriteText(w, r.list, diag.TextOptions{Source: r.text, Color: colours(w), Most: maxShown})
}

// checkReport adds what was not read, the replaced settings, and the conditions of gateway policies for a directory that does not
// compile.
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
func (r *translation) text(file string) []byte {
	for _, origin := range r.snapshot.Origins {
		if origin.SettingsFile.Path == file {
			return origin.SettingsFile.Content
		}
	}
	for _, f := range r.snapshot.Files {
		if f.Path == file {
			return f.Content
		}
	}
	return nil
}

// summary formats the counts of a list: "2 errors, 1 warning".
func summary(list diag.List) string { return diag.Tally(list.Sorted().Count()) }
