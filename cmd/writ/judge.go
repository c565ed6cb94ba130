package main

import (
	"context"
	"errors"
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
		answer, err := decision.Answer(ctx, p, decision.Point(point), request)
		if err != nil {
			var invalid *decision.InvalidRequest
			if point == change.PointGateway && errors.As(err, &invalid) && invalid.Code == "unknown_gateway" {
				return change.Verdict{Outcome: "none", Decision: invalid.Body()}, nil
			}
			return change.Verdict{}, err
		}
		return change.VerdictOf(point, hasItems(point, request), answer)
	}
}

func hasItems(point string, request []byte) bool {
	if point != change.PointVisibility {
		return false
	}
	r, err := decision.DecodeVisibility(request)
	return err == nil && r.Items != nil && len(*r.Items) > 0
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
