package explore

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/view"
	"github.com/writ-policy/writ/translator/change/question"
)

// maxNearest is how many rules are shown that nearly allow a request.
const maxNearest = 5

// nearest returns allow rules that lack one thing to allow a request: those that what-can
// lists if that one thing is open.
func (v *viewer) nearest(ctx context.Context, r *decision.Request, p decision.Policies) []view.Nearest {
	list := []view.Nearest{}
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

// nearText states what a request would have instead.
func nearText(member string, value any) string {
	text, isText := value.(string)
	switch {
	case isText && text != "":
		return "with the " + member + " " + text
	case value == nil || isText:
		return "without a " + member
	}
	return "with the " + member + " " + string(mustJSON(value))
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
func nearRule(ctx context.Context, p decision.Policies, example map[string]any) (view.Nearest, bool) {
	request := mustJSON(example)
	r, err := decision.Decode(request)
	if err != nil {
		return view.Nearest{}, false
	}
	n, ok := nearRequest(ctx, p, r)
	n.Request = request
	return n, ok
}

// nearRequest returns the rule that allows a request.
func nearRequest(ctx context.Context, p decision.Policies, r *decision.Request) (view.Nearest, bool) {
	d := p.Access(ctx, r)
	if !d.Allowed || len(d.Matched) == 0 {
		return view.Nearest{}, false
	}
	return view.Nearest{Matched: matchedView(&d.Matched[0]), Request: r.Encode()}, true
}

// asAuthenticated is the text of a request with the groups that Kubernetes implies.
const asAuthenticated = "as an authenticated user"

// impliedOf returns the request with the groups that Kubernetes implies if documents tell
// it apart from r, otherwise r.
func impliedOf(r *decision.Request, p decision.Policies) *decision.Request {
	completed := r.WithImpliedGroups()
	if completed == r || bytes.Equal(p.AccessKey(nil, r), p.AccessKey(nil, completed)) {
		return r
	}
	return completed
}

func isShown(list []view.Nearest, n *view.Nearest) bool {
	return slices.ContainsFunc(list, func(other view.Nearest) bool {
		return other.Matched.Source == n.Matched.Source && other.Matched.Name == n.Matched.Name
	})
}
