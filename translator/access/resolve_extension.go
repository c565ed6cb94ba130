package access

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/extension"
	"github.com/writ-policy/writ/translator/syntax"
)

// extensionReferences checks that each kind of restriction that is not built in is an
// extension with a function holds.
func (r *resolver) extensionReferences() {
	declared := make(map[string]bool) // by name: whether holds takes two arguments
	for _, e := range r.out.Extensions {
		if strings.Contains(e.Name, ".") || strings.HasSuffix(e.Name, "_test") {
			continue // rules cannot refer to libraries and tests
		}
		declared[e.Name] = declared[e.Name] || definesHolds(e.Module)
	}
	for _, role := range r.out.OriginRoles {
		for i := range role.Rules {
			restrictions := role.Rules[i].Restrictions
			// Params is nil for built-in kinds and for kinds that decoding rejected.
			if restrictions != nil && restrictions.Params != nil {
				r.extensionReference(restrictions.Kind, declared)
			}
		}
	}
}

func (r *resolver) extensionReference(kind syntax.Text, declared map[string]bool) {
	holds, ok := declared[kind.Value]
	if holds {
		return
	}
	d := kind.Diagnostic(diag.Error, diag.UnknownRestriction, fmt.Sprintf("add a *.rego file with package writ.extensions.%s", kind.Value),
		"restriction %q is neither built in nor an extension of this directory", kind.Value)
	if ok {
		d.Message = fmt.Sprintf("package writ.extensions.%s has no function holds of two arguments", kind.Value)
		d.Hint = "define holds(request, params)"
	} else if r.MaySuggest() {
		if close := diag.Suggest(kind.Value, append(slices.Sorted(maps.Keys(declared)), extension.SameMinion)); close != "" {
			d.Hint = fmt.Sprintf("did you mean %q?", close)
		}
	}
	r.List.Add(d)
}

// definesHolds reports whether a module defines holds(request, params).
func definesHolds(m *ast.Module) bool {
	if m == nil {
		return false
	}
	return slices.ContainsFunc(m.Rules, func(rule *ast.Rule) bool {
		return len(rule.Head.Args) == 2 && rule.Head.Ref().Equal(ast.Ref{ast.VarTerm("holds")})
	})
}
