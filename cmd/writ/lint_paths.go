package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/analysis/reach"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/documents"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/lint/risk"
	"github.com/writ-policy/writ/translator/roles"
	"github.com/writ-policy/writ/translator/tables"
)

// lookForPaths is how long lint looks for paths.
const lookForPaths = 30 * time.Second

// lintPaths adds the paths to a cluster administrator, those with the same first step and class
// as one finding. Paths that are only possible, or that change documents, are left to writ reach.
func lintPaths(ctx context.Context, s cli.Streams, r *documents.Translation, at time.Time) error {
	world := statement.NewWorld(tables.Revision{Tables: r.Result.Tables}).At(dates.Of(at))
	limited, cancel := context.WithTimeout(ctx, lookForPaths)
	defer cancel()
	found, err := reach.Find(limited, reach.Options{World: world, Now: at, To: []string{reach.ClusterAdmin}, Class: reach.Assumed,
		Containers: reach.Containers(r.Part().Documents),
		MaxHops:    reach.MaxHops, MaxIdentities: reach.MaxIdentities})
	if errors.Is(err, reach.ErrTooManyIdentities) || limited.Err() != nil && ctx.Err() == nil {
		_, err = fmt.Fprintln(s.Err, "risk-reach: too many identities can be reached to look for paths; writ reach --to cluster-admin does")
		return err
	}
	if err != nil {
		return err
	}
	type step struct {
		text, source string
		class        reach.Class
	}
	about, _ := diag.Explain(diag.RiskReach)
	index := make(map[step]int)
	var list diag.List
	for i := range found.Paths {
		p := &found.Paths[i]
		if len(p.Hops) == 0 || len(p.Hops[0].Grants) == 0 {
			continue
		}
		first := &p.Hops[0].Grants[0]
		source := first.Source
		if roles.IsBootstrap(source) {
			continue
		}
		key := step{pathOf(p), source, p.Class}
		n, known := index[key]
		if !known {
			position, _ := diag.ParseSource(source)
			level := map[reach.Class]string{reach.Certain: "critical", reach.Assumed: "high"}[p.Class]
			d := diag.Diagnostic{Position: position, Severity: diag.Warning, Code: diag.RiskReach, Risk: level}
			_, d.Hint, _ = strings.Cut(strings.TrimSuffix(about.Text, "."), "\nRemedy: ")
			n, index[key] = len(list), len(list)
			list = append(list, d)
		}
		list[n].Subjects = append(list[n].Subjects, p.Subject)
		who, steps := subjectsOf(list[n].Subjects), diag.Counted(len(p.Hops), "step")
		list[n].Message = fmt.Sprintf("%s, %s: %s can become a cluster administrator in %s: %s; by %s",
			list[n].Risk, p.Class, who, steps, key.text, first)
	}
	for i := range list {
		slices.Sort(list[i].Subjects)
		r.List.Add(list[i])
	}
	return nil
}

// pathOf states the hops of a path.
func pathOf(p *reach.Path) string {
	var hops []string
	for i := range p.Hops {
		hops = append(hops, p.Hops[i].Text)
	}
	return strings.Join(hops, "; then ")
}

func subjectsOf(principals []string) string {
	out := elements.Map(principals, risk.Subject)
	return strings.Join(statement.Shorten(out), ", ")
}
