package change

import (
	"errors"
	"maps"
	"slices"
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

	facts map[string]any
	open  map[string]bool
	set   []setter
	cut   bool // a search ended early
}

// QuestionJSON is a question in an answer.
type QuestionJSON struct {
	Request map[string]any `json:"request"`
	Subject map[string]any `json:"subject,omitempty"`
	Open    []string       `json:"open"`
}

// Facts are the members of a request, beside its name, that a question leaves open unless
// it states them.
func Facts() []string {
	return []string{"attributes", "cluster", "escalation", "fields", "labels", "namespaceLabels", "pod", "session", "tenant"}
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

// prepare computes what searches read.
func (q *Question) prepare() {
	q.open = make(map[string]bool)
	for _, name := range q.Open {
		q.open[name] = true
	}
	q.facts = make(map[string]any)
	for _, name := range opaqueFacts {
		if value, ok := q.Stated[name]; ok {
			q.facts[name] = value
		}
	}
	q.set = q.setters()
}

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

// textMembers are the members of a request that are strings.
var textMembers = []struct {
	name string
	of   func(*request) *string
}{
	{"path", func(r *request) *string { return &r.path }},
	{"resource", func(r *request) *string { return &r.resource }},
	{"subresource", func(r *request) *string { return &r.subresource }},
	{"verb", func(r *request) *string { return &r.verb }},
	{"apiGroup", func(r *request) *string { return &r.group }},
	{"name", func(r *request) *string { return &r.name }},
	{"namespace", func(r *request) *string { return &r.namespace }},
	{"cluster", func(r *request) *string { return &r.cluster }},
	{"tenant", func(r *request) *string { return &r.tenant }},
	{"session", func(r *request) *string { return &r.session }},
	{"escalation", func(r *request) *string { return &r.escalation }},
}

// setter sets a member of a request.
type setter func(*request)

// setters returns what sets the members that are not open.
func (q *Question) setters() []setter {
	var out []setter
	for _, member := range textMembers {
		if text := q.text(member.name); !q.open[member.name] {
			out = append(out, func(r *request) { *member.of(r) = text })
		}
	}
	if labels := textMap(q.Stated["labels"]); !q.open["labels"] {
		out = append(out, func(r *request) { r.labels = labels })
	}
	if labels := textMap(q.Stated["namespaceLabels"]); !q.open["namespaceLabels"] {
		out = append(out, func(r *request) { r.namespaceLabels = labels })
	}
	if fields := textList(q.Stated["fields"]); !q.open["fields"] {
		out = append(out, func(r *request) { r.fields = fields })
	}
	if !q.open["attributes"] {
		attributes, _ := q.Stated["attributes"].(map[string]any)
		own, _ := attributes["minion"].(string)
		pods, _ := attributes["podMinion"].(string)
		out = append(out, func(r *request) { r.minion, r.podMinion = own, pods })
	}
	return out
}

// pin sets the members that are not open. It returns false for a request that has a
// member which a path excludes.
func (q *Question) pin(r *request) bool {
	for _, set := range q.set {
		set(r)
	}
	if r.path != "" {
		return r.resource == "" && r.subresource == "" && r.namespace == "" && r.name == "" && r.group == ""
	}
	return r.resource != ""
}

func textMap(value any) map[string]string {
	switch m := value.(type) {
	case map[string]string:
		return m
	case map[string]any:
		out := make(map[string]string, len(m))
		for k, v := range m {
			out[k], _ = v.(string)
		}
		return out
	}
	return nil
}

func textList(value any) []string {
	switch l := value.(type) {
	case []string:
		return l
	case []any:
		out := make([]string, 0, len(l))
		for _, v := range l {
			text, _ := v.(string)
			out = append(out, text)
		}
		return out
	}
	return nil
}
