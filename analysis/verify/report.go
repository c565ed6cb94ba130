package verify

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/tables"
)

// Report is the verdicts of a run.
type Report struct {
	Source   string     `json:"source"`
	Revision string     `json:"revision"`
	Now      time.Time  `json:"now"`
	Until    *time.Time `json:"until"`
	Base     *string    `json:"base"`
	Summary  Summary    `json:"summary"`
	// Assertions are in the order of documents and assertions; failures are not first.
	Assertions []Result `json:"assertions"`
	Notes      []Note   `json:"notes"`
	// Diagnostics are those of the documents, as writ check shows them.
	Diagnostics []any `json:"diagnostics"`
	// Mutants is how many changes of the documents the assertions notice, if that was asked for.
	Mutants any `json:"mutants,omitempty"`

	from *Input // for a later run
}

// Summary counts verdicts.
type Summary struct {
	Holds    int `json:"holds"`
	Fails    int `json:"fails"`
	Excepted int `json:"excepted"`
	Unknown  int `json:"unknown"`
	Vacuous  int `json:"vacuous"`
	Old      int `json:"old"`
}

// Result is the verdict of one assertion.
type Result struct {
	Document string `json:"document"`
	Name     string `json:"name"`
	Source   string `json:"source"`
	Point    string `json:"point"`
	Form     string `json:"form"`
	Verdict  string `json:"verdict"`
	// Failed states that the assertion fails the run.
	Failed    bool       `json:"failed"`
	Why       []string   `json:"why"`
	Old       bool       `json:"old"`
	Witness   *Witness   `json:"witness,omitempty"`
	Documents []Document `json:"documents"`
	Text      string     `json:"text"`
	// Exceptions are those that an excepted assertion has in force.
	Exceptions []Exception `json:"exceptions,omitempty"`
	Notes      []Note      `json:"notes"`
	// ByBase is the verdict by the base; nil if that was not asked for or cannot be known.
	ByBase *Result `json:"-"`
	// Certificate is a proof that others can check, nil if that was not asked for or the
	// assertion has none.
	Certificate *Certificate `json:"-"`

	// unknown is the word that nothing knows, by which an assertion is vacuous, and nothingDenies
	// states that it holds because no statement that reaches its class may deny.
	unknown       unknownKey
	nothingDenies bool
}

// IsAlways reports whether the assertion is about requests that must be decided in one way: it
// does not hold where no request fits it any more.
func (r *Result) IsAlways() bool { return r.Form == assertion.Always }

// Exception is an exception in force.
type Exception struct {
	Reason string    `json:"reason"`
	Until  time.Time `json:"until"`
}

// ID returns "DOCUMENT/NAME".
func (r *Result) ID() string { return r.Document + "/" + r.Name }

// Note is what an author should know and what fails nothing.
type Note struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// The parts of an assertion that a witness is in.
const (
	inClass   = "of"
	inExpired = "expired"
)

// Witness is requests that break an assertion.
type Witness struct {
	At       time.Time         `json:"at"`
	In       string            `json:"in"`
	Place    map[string]string `json:"place,omitempty"`
	Path     string            `json:"path,omitempty"`
	Requests []WitnessRequest  `json:"requests"`
	// Hops are those of a path, for never: reach.
	Hops any `json:"hops,omitempty"`

	r        *statement.Request
	held     []string
	crossing *crossing
	// responsible are documents that no decision names.
	responsible []Document
}

// WitnessRequest is a request with its decision in one world.
type WitnessRequest struct {
	World    string          `json:"world"`
	Request  map[string]any  `json:"request"`
	Outcome  string          `json:"outcome"`
	Decision json.RawMessage `json:"decision"`
}

// Document is a document that is responsible. Its rule is a number, or a key at the point
// gateway.
type Document struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Rule      any    `json:"rule"`
	Source    string `json:"source"`
}

// Place returns FILE:LINE, or the name of an object.
func (d *Document) Place() string { return d.Source }

// Title returns the kind and the name of the document.
func (d *Document) Title() string {
	return tables.Title(d.Kind, d.Namespace, d.Name)
}

// documents returns what decided the requests: the first match of each decision, each once.
func (w *Witness) documents() []Document {
	out := slices.Clone(w.responsible)
	for _, r := range w.Requests {
		var d struct {
			Matched []Document `json:"matched"`
		}
		if err := json.Unmarshal(r.Decision, &d); err == nil && len(d.Matched) > 0 {
			out = append(out, d.Matched[0])
		}
	}
	slices.SortStableFunc(out, func(x, y Document) int {
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name), cmp.Compare(fmt.Sprint(x.Rule), fmt.Sprint(y.Rule)))
	})
	if out = slices.Compact(out); out == nil {
		out = []Document{}
	}
	return out
}

// Fails reports whether an assertion fails the run.
func (r *Report) Fails() bool {
	return slices.ContainsFunc(r.Assertions, func(x Result) bool { return x.Failed })
}
