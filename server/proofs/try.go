package proofs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/writ-policy/writ/analysis/assertions"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/analysis/verify"
	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/syntax"
)

// The bounds of a question.
const (
	mostAsked = 20
	tryTime   = 2 * time.Second
)

// asked is the name of the file of a question, and of its document.
const asked = "request"

// Verify verifies the assertions of a body by a revision: the members of spec of a document,
// and now. What they refer to are documents of what is served. A refusal names a part of the
// body by its JSON pointer.
func (p *Proofs) Verify(ctx context.Context, policies decision.Policies, body []byte) (any, *exchange.Refusal) {
	world := statement.Of(policies)
	if world == nil {
		return nil, &exchange.Refusal{Status: http.StatusServiceUnavailable, Message: "no revision is active, or its bundle has no table of its deny policies"}
	}
	documents, at, refused := p.read(body)
	if refused != nil {
		return nil, refused
	}
	now := func() time.Time { return at }
	p.mu.Lock()
	r := p.served
	p.mu.Unlock()
	if r == nil || r.policies.Loaded().Revision != policies.Loaded().Revision {
		return nil, &exchange.Refusal{Status: http.StatusServiceUnavailable, Message: "another revision is being activated"}
	}
	var set *assertions.Set
	if r.built != nil {
		set = assertions.OfBundle(documents.Documents, r.built, p.compiler(now))
	} else {
		set = assertions.Of(documents.Documents, r.snapshot, p.compiler(now))
	}
	within, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	err := set.Check(within)
	if err == nil && set.List.HasErrors() {
		return nil, documents.refusal(set.List)
	}
	var report *verify.Report
	if err == nil {
		in := &verify.Input{Side: SideOf(policies, world, now), Now: at, SetNow: func(t time.Time) { at = t }}
		in.Side.Source = p.o.Source
		report, err = set.Run(within, in, nil)
	}
	switch {
	case within.Err() != nil:
		return nil, &exchange.Refusal{Status: http.StatusServiceUnavailable, Message: fmt.Sprintf("the proof took longer than %v; ask for fewer assertions, or for smaller classes", tryTime)}
	case err != nil:
		p.o.Logger.ErrorContext(ctx, "assertions of a request cannot be verified", "error", err)
		return nil, &exchange.Refusal{Status: http.StatusServiceUnavailable, Message: "the assertions cannot be verified"}
	}
	return report, nil
}

// question is the document of a body.
type question struct {
	Documents []syntax.Document
	root      *syntax.Node
}

// read reads a body.
func (p *Proofs) read(body []byte) (*question, time.Time, *exchange.Refusal) {
	at := p.o.Now()
	var spec map[string]json.RawMessage
	if err := json.Unmarshal(body, &spec); err != nil || spec == nil {
		return nil, at, exchange.BadRequest("", "the body is not a JSON object")
	}
	if text, isGiven := spec["now"]; isGiven {
		delete(spec, "now")
		var word string
		err := errors.New("must be a string")
		if json.Unmarshal(text, &word) == nil {
			at, err = dates.Parse(word)
		}
		if err != nil {
			return nil, at, exchange.BadRequest("/now", fmt.Sprintf("%q %s", "now", err))
		}
	}
	read := assertions.QuestionOf(asked, spec)
	q := &question{Documents: read.Documents}
	_, q.root = syntax.Parse(asked, read.Text)
	if read.List.HasErrors() {
		return nil, at, q.refusal(read.List)
	}
	if set := assertions.Of(read.Documents, source.Snapshot{}, nil); len(set.All) > mostAsked {
		return nil, at, exchange.BadRequest("/assertions", fmt.Sprintf("assertions has %d entries: a request must have at most %d", len(set.All), mostAsked))
	}
	return q, at, nil
}

// refusal refuses a body for its first mistake.
func (q *question) refusal(list diag.List) *exchange.Refusal {
	sorted := list.Sorted()
	i := slices.IndexFunc(sorted, func(d diag.Diagnostic) bool { return d.Severity == diag.Error && d.File == asked })
	if i < 0 {
		i = slices.IndexFunc(sorted, func(d diag.Diagnostic) bool { return d.Severity == diag.Error })
	}
	d := sorted[i]
	pointer, _ := pointerTo(q.root, d.Line, d.Column)
	refused := exchange.BadRequest(strings.TrimPrefix(pointer, "/spec"), d.Message)
	refused.Code = string(d.Code)
	return refused
}

// pointerTo returns the JSON pointer of the key or value at a place of a document.
func pointerTo(n *syntax.Node, line, column int) (string, bool) {
	if n == nil {
		return "", false
	}
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	for _, f := range n.Fields {
		below, found := pointerTo(f.Value, line, column)
		if found || f.Key.Line == line && f.Key.Column == column {
			return "/" + escape.Replace(f.Key.Value) + below, true
		}
	}
	for i, item := range n.Items {
		if below, found := pointerTo(item, line, column); found {
			return "/" + strconv.Itoa(i) + below, true
		}
	}
	return "", n.Line == line && n.Column == column
}
