package diag

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/internal/jsontext"
)

// Report is the stable JSON form of diagnostics. Keys may be added; existing keys do not change.
type Report struct {
	Diagnostics []jsonDiagnostic `json:"diagnostics"`
	Errors      int              `json:"errors"`
	Warnings    int              `json:"warnings"`
	// Suppressed are the warnings that were accepted. They are not counted.
	Suppressed []jsonSilenced `json:"suppressed,omitempty"`
}

type jsonSilenced struct {
	jsonDiagnostic
	Suppression jsonSuppression `json:"suppression"`
}

type jsonSuppression struct {
	Kind          string `json:"kind"` // "inSource" or "external", as in SARIF
	Justification string `json:"justification"`
	File          string `json:"file"`
	Line          int    `json:"line"`
}

type jsonDiagnostic struct {
	File     string        `json:"file"`
	Line     int           `json:"line"`
	Column   int           `json:"column"`
	Field    string        `json:"field,omitempty"`
	Severity string        `json:"severity"`
	Code     Code          `json:"code"`
	Message  string        `json:"message"`
	Hint     string        `json:"hint"`
	Risk     string        `json:"risk,omitempty"`
	Subjects []string      `json:"subjects,omitempty"`
	Related  []jsonRelated `json:"related,omitempty"`
}

type jsonRelated struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

// NewReport returns all diagnostics, sorted, with their counts, and those that are silenced.
func NewReport(list List, silenced []Silenced) Report {
	sorted := list.Sorted()
	report := Report{Diagnostics: make([]jsonDiagnostic, 0, len(sorted))}
	report.Errors, report.Warnings = sorted.Count()
	report.Diagnostics = append(report.Diagnostics, elements.Map(sorted, jsonOf)...)
	for _, s := range silenced {
		report.Suppressed = append(report.Suppressed, jsonSilenced{jsonOf(s.Diagnostic), jsonSuppression{s.By.kind(), s.By.Reason, s.By.File, s.By.Line}})
	}
	return report
}

func jsonOf(d Diagnostic) jsonDiagnostic {
	j := jsonDiagnostic{
		File: d.File, Field: d.Field, Severity: d.Severity.String(),
		Code: d.Code, Message: d.Message, Hint: d.Hint, Risk: d.Risk, Subjects: d.Subjects,
	}
	j.Line, j.Column = d.Shown()
	for _, r := range d.Related {
		line, column := r.Shown()
		j.Related = append(j.Related, jsonRelated{r.File, line, column, r.Field, r.Message})
	}
	return j
}

// WriteIndented writes a value as indented JSON. Characters that act on a terminal are
// escaped, those of HTML are not. It returns an error if writing fails.
func WriteIndented(w io.Writer, v any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(jsontext.EscapeControls(text.Bytes()))
	return err
}
