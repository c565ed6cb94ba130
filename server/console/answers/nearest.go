package answers

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/question"
	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/decision"
)

// maxNearest is how many rules are shown that nearly allow a request.
const maxNearest = 5

// nearest returns allow rules that lack one thing to allow a request: those that what-can
// lists if that one thing is open.
func (v *viewer) nearest(ctx context.Context, r *decision.Request, p decision.Policies) []console.Nearest {
	list := []console.Nearest{}
	if completed := impliedOf(r, p); completed != r {
		if n, ok := nearRequest(ctx, p, completed); ok {
			n.Lacks, n.Text = "groups", asAuthenticated
			list = append(list, n)
		}
	}
	asker := v.asker(p)
	if asker == nil || r.Path != "" {
		return list
	}
	for _, member := range []string{"verb", "namespace", "name", "labels"} {
		q, err := nearQuestion(r, member)
		if err != nil {
			return list
		}
		answer, err := asker.WhatCan(ctx, q)
		if err != nil {
			continue // too complex, or too late: the others may have an answer
		}
		for i := range answer.Resources {
			preferCommonVerb(ctx, p, answer.Resources[i].Example, member)
			n, ok := nearRule(ctx, p, answer.Resources[i].Example)
			if !ok || len(list) == maxNearest || isShown(list, &n) {
				continue
			}
			n.Lacks, n.Text = member, nearText(member, answer.Resources[i].Example[member])
			list = append(list, n)
		}
	}
	return list
}

// preferCommonVerb changes the verb of an example, if that is what a request lacks, to the
// first common one that is allowed too.
func preferCommonVerb(ctx context.Context, p decision.Policies, example map[string]any, lacks string) {
	if lacks != "verb" || example == nil {
		return
	}
	found := example["verb"]
	for _, verb := range commonVerbs {
		example["verb"] = verb
		if _, ok := nearRule(ctx, p, example); ok {
			return
		}
	}
	example["verb"] = found
}

// nearText states what a request would have instead.
func nearText(member string, value any) string {
	text, isText := value.(string)
	switch {
	case isText && text != "":
		return "with the " + member + " " + text
	case value == nil || isText:
		return "without a " + member
	}
	return "with the " + member + " " + string(jsontext.Marshal(value))
}

// nearQuestion is the question what the subject of a request can do if one member of the
// request is open.
func nearQuestion(r *decision.Request, open string) (*question.Question, error) {
	q := &question.Question{User: r.User, Groups: r.Groups, Open: []string{open}}
	if err := json.Unmarshal(r.Encode(), &q.Stated); err != nil {
		return nil, err
	}
	for key, value := range q.Stated {
		members, isObject := value.(map[string]any)
		if value == "" || isObject && len(members) == 0 && !strings.HasSuffix(strings.ToLower(key), "labels") {
			delete(q.Stated, key)
		}
	}
	for _, key := range []string{"user", "groups", open} {
		delete(q.Stated, key)
	}
	return q, nil
}

// nearRule returns the rule that allows an example.
func nearRule(ctx context.Context, p decision.Policies, example map[string]any) (console.Nearest, bool) {
	request := jsontext.Marshal(example)
	r, err := decision.Decode[decision.Request](request)
	if err != nil {
		return console.Nearest{}, false
	}
	n, ok := nearRequest(ctx, p, r)
	n.Request = request
	return n, ok
}

// nearRequest returns the rule that allows a request.
func nearRequest(ctx context.Context, p decision.Policies, r *decision.Request) (console.Nearest, bool) {
	d := p.Access(ctx, r)
	if !d.Allowed || len(d.Matched) == 0 {
		return console.Nearest{}, false
	}
	return console.Nearest{Matched: matchedView(&d.Matched[0]), Request: r.Encode()}, true
}

// asAuthenticated is the text of a request with the groups that Kubernetes implies.
const asAuthenticated = "as an authenticated user"

// impliedOf returns the request with the groups that Kubernetes implies if documents tell
// it apart from r, otherwise r.
func impliedOf(r *decision.Request, p decision.Policies) *decision.Request {
	completed := r.WithImpliedGroups()
	if completed == r || decision.HaveOneKey(p, r, completed) {
		return r
	}
	return completed
}

func isShown(list []console.Nearest, n *console.Nearest) bool {
	return slices.ContainsFunc(list, func(other console.Nearest) bool {
		return other.Matched.Source == n.Matched.Source && other.Matched.Name == n.Matched.Name
	})
}
