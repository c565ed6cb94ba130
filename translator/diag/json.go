package diag

import (
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
	encoder := json.NewEncoder(escaping{w})
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// escaping escapes what acts on a terminal. It is given a whole value at once.
type escaping struct{ to io.Writer }

func (e escaping) Write(text []byte) (int, error) {
	_, err := e.to.Write(jsontext.EscapeControls(text))
	return len(text), err
}
