package main

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/change"
)

// judge returns what decides the requests of package change by one revision.
func judge(p decision.Policies) change.Judge {
	return func(ctx context.Context, point string, request []byte) (change.Verdict, error) {
		at, found := decision.FindPoint(point)
		if !found {
			return change.Verdict{}, fmt.Errorf("unknown point %q", point)
		}
		q, err := at.Decode(request)
		if err != nil {
			return change.Verdict{}, err
		}
		answer, refused := q.Decide(ctx, p)
		switch {
		case refused != nil && refused.Code == "unknown_gateway":
			return change.Verdict{Outcome: "none", Decision: refused.Body()}, nil
		case refused != nil:
			return change.Verdict{}, refused
		}
		return change.VerdictOf(point, decision.HasItems(q), answer.AppendJSON(nil))
	}
}

// extensionFolder is the folder of extensions in a bundle.
const extensionFolder = "writ/extensions/"

var extensionName = regexp.MustCompile(`(?m)^package writ\.extensions\.([\w.]+)`)

// revisionOf returns what package change reads of a bundle.
func revisionOf(b *bundles.Bundle) change.Revision {
	r := change.Revision{Tables: b.Tables, Modules: make(map[string]string)}
	for name, content := range b.Files {
		if !strings.HasPrefix(name, extensionFolder) || path.Ext(name) != ".rego" || bundles.IsTest(name) {
			continue
		}
		if found := extensionName.FindSubmatch(content); found != nil {
			r.Modules[string(found[1])] += string(content)
		}
	}
	return r
}
