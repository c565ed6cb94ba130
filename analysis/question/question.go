package question

import (
	"errors"
	"maps"
	"slices"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/selector"
	"github.com/writ-policy/writ/translator/tables"
)

// Question is a set of requests: some members are stated, some are open, and all others
// are absent.
type Question struct {
	// Stated are the members of a request that have a value.
	Stated map[string]any
	// Open are the names of members with any value.
	Open []string
	// User and Groups are the subject of WhatCan.
	User   string
	Groups []string
	// Limit is the largest number of subjects of WhoCan, zero for all. After leaves out
	// subjects up to one.
	Limit int
	After string
	// Potential adds to an answer of WhoCan who could get it.
	Potential bool

	within *statement.Statement // nil, or what all requests of the question fit

	cluster string // of the revision that is asked, empty for all

	facts  map[string]any
	open   map[string]bool
	target *statement.Request // the resource or path and the verb; nil if they are open
	set    []func(*statement.Request)
	cut    bool // a search ended early
}

// QuestionJSON is a question in an answer.
type QuestionJSON struct {
	Request map[string]any `json:"request"`
	Subject map[string]any `json:"subject,omitempty"`
	Open    []string       `json:"open"`
}

// holders returns the principals of the subject.
func (q *QuestionJSON) holders() []string {
	user, _ := q.Subject[subjectUser].(string)
	groups, _ := q.Subject[subjectGroups].([]string)
	return statement.Principals(user, groups)
}

// isSelecting reports whether servers apply selectors to the requests of the question.
func (q *Question) isSelecting() bool {
	return q.target != nil && q.open["attributes"] && selector.Counts(q.target.Verb, q.target.Resource, q.target.Subresource)
}

// Facts are the members of a request, beside its name, that a question leaves open unless
// it states them.
func Facts() []string {
	return slices.Sorted(slices.Values(tables.ScopeKeys("attributes", "fields", "labels", "namespaceLabels", "pod")))
}

// opaqueFacts are members that no statement reads.
var opaqueFacts = []string{"pod", "podError", "extra", "attributes"}

// ErrTooComplex is the error of a question whose answer would take too long to be complete.
var ErrTooComplex = errors.New("the patterns and labels of the documents are too complex for a complete answer; state more of the request")

// err returns ErrTooComplex if a search ended early.
func (q *Question) err() error {
	if q.cut {
		return ErrTooComplex
	}
	return nil
}

// prepare computes what searches read. It returns an error if the revision does not decide
// on the cluster of the question.
func (a *Asker) prepare(q *Question) error {
	q.cluster = a.World.Access.Cluster
	q.prepare()
	return tables.CheckCluster(q.cluster, q.text("cluster"))
}

// prepare computes what searches read. To the revision of one cluster, the cluster is never
// open.
func (q *Question) prepare() {
	q.open = make(map[string]bool)
	for _, name := range q.Open {
		q.open[name] = name != "cluster" || q.cluster == ""
	}
	q.facts = make(map[string]any)
	for _, name := range opaqueFacts {
		if value, ok := q.Stated[name]; ok {
			q.facts[name] = value
		}
	}
	q.set = statement.Setters(q.Stated, q.open)
	q.target = nil
	for _, name := range []string{"resource", "subresource", "path", "verb"} {
		if q.open[name] {
			return
		}
	}
	q.target = new(statement.Request)
	q.pin(q.target)
}

// mayFit reports whether a statement fits the resource or path and the verb of the question.
// Most do not, and a search costs a hundred times as much.
func (q *Question) mayFit(s *statement.Statement) bool { return q.target == nil || s.MayFit(q.target) }

func (q *Question) json() QuestionJSON {
	open := slices.Sorted(slices.Values(q.Open))
	if open == nil {
		open = []string{}
	}
	request := maps.Clone(q.Stated)
	if request == nil {
		request = map[string]any{}
	}
	return QuestionJSON{Request: request, Open: open}
}

// namespace returns the stated namespace, or false if it is open.
func (q *Question) namespace() (string, bool) { return q.text("namespace"), !q.open["namespace"] }

func (q *Question) text(key string) string {
	text, _ := q.Stated[key].(string)
	return text
}

// pin sets the members that are not open. It returns false for a request that has a
// member which a path excludes.
func (q *Question) pin(r *statement.Request) bool {
	for _, set := range q.set {
		set(r)
	}
	if r.Path != "" {
		return r.Resource == "" && r.Subresource == "" && r.Namespace == "" && r.Name == "" && r.Group == ""
	}
	return r.Resource != ""
}
