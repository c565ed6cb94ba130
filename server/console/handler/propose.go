package handler

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/decision"
)

// Propose compares what is served with the documents after a change. Few proposals are
// compared at a time, each as long as its caller waits.
func (a *API) Propose() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p, refused := a.proposal(r)
		if refused == nil && !a.proposals.Acquire(1) {
			refused = tooMany
		}
		if refused != nil {
			a.service.Refuse(w, exchange.Problem, refused)
			return
		}
		// The error is that of a writer that is not a connection.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(proposalTime + exchange.WriteWithin))
		found, err := a.compare(w, r, p)
		a.write(w, found, err)
	}
}

// compare compares what is served with a proposal, in a place that is taken for it.
func (a *API) compare(w http.ResponseWriter, r *http.Request, p *console.Proposal) (document, error) {
	defer a.proposals.Release(1)
	ctx, cancel := context.WithTimeout(r.Context(), proposalTime)
	defer cancel()
	v := a.console.Now()
	if revision := v.Revision(); revision != "" {
		w.Header().Set(exchange.RevisionHeader, revision)
	}
	return documentOf(v.Propose(ctx, a.callerOf(r), p))
}

// proposal reads the body of a request.
func (a *API) proposal(r *http.Request) (*console.Proposal, *exchange.Refusal) {
	if refused := exchange.CheckJSON(r); refused != nil {
		return nil, refused
	}
	if _, refused := queryOf(r, []string{"timeout"}); refused != nil {
		return nil, refused
	}
	body, refused := a.service.Body(r)
	if refused != nil {
		return nil, refused
	}
	var p console.Proposal
	var f exchange.Reader
	if !body.IsObject() {
		return nil, exchange.BadRequest("", "the body is not a JSON object")
	}
	isGiven := false
	for key, value := range body.Members() {
		switch {
		case key == "documents":
			isGiven = true
			for i, document := range f.Elements(key, value) {
				p.Documents = append(p.Documents, proposedFile(&f, fmt.Sprintf("documents[%d]", i), document))
			}
		case key == "removed":
			p.Removed = f.Texts(key, value)
		case key == "ref":
			p.Ref = f.Text(key, value)
		case key == "source":
			p.Source = f.Text(key, value)
		case key == "whole":
			if p.Whole = value.IsTrue(); !value.IsBool() {
				f.Refuse(key, "true or false")
			}
		default:
			return nil, exchange.BadRequest(key, fmt.Sprintf("unknown field %q", key))
		}
	}
	if !isGiven && len(p.Removed) == 0 && p.Ref == "" {
		f.Refuse("documents", "given, or removed: the files that change, or ref")
	}
	return &p, f.Refused
}

// proposedFile reads a file of a proposal.
func proposedFile(f *exchange.Reader, at string, document decision.Value) console.ProposedFile {
	var out console.ProposedFile
	if !document.IsObject() {
		f.Refuse(at, "an object with path and content")
		return out
	}
	given := 0
	for key, value := range document.Members() {
		switch key {
		case "path":
			out.Path = f.Text(at+".path", value)
		case "content":
			out.Content = f.Text(at+".content", value)
		default:
			f.Refuse(at, "an object with path and content alone")
			return out
		}
		given++
	}
	if given != 2 {
		f.Refuse(at, "an object with path and content")
	}
	return out
}
