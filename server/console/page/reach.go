package page

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strconv"

	"github.com/writ-policy/writ/server/console"
)

// reachPath is the view of who can become whom, and clusterAdmin the target that it begins with.
const (
	reachPath    = "/page/reach"
	clusterAdmin = "cluster-admin"
)

// reachContent is the paths from a subject to a target.
type reachContent struct {
	From, To input
	Asked    bool
	*console.Reach
	// Picture has the paths as SVG, without script and style.
	Picture template.HTML
	Shown   []pathRow
}

// pathRow is a path.
type pathRow struct {
	console.ReachPath
	Badge mark
	Rows  []hopRow
}

// hopRow is a step of a path, with the questions behind it.
type hopRow struct {
	console.ReachHop
	ID    string
	Badge mark
	Asks  []tab
}

// classMarks are how classes of paths look.
var classMarks = map[string]mark{"certain": {"deny", "warning", "certain"}, "assumed": {"warn", "warning", "assumed"}, "possible": {"rate", "minus", "possible"}}

// cutMark is how a path looks that a denial cuts.
var cutMark = mark{"none", "cross", "cut"}

// reach is the view of who can become whom.
func reach(ctx context.Context, q *question) (frame, error) {
	c := reachContent{
		From: input{Key: "from", Label: "From", Names: "subject", Value: q.value("from"), Hint: "user:NAME or group:NAME; empty: everybody"},
		To:   input{Key: "to", Label: "To", Names: "subject", Value: q.value("to"), Options: []string{clusterAdmin}, Hint: "a subject, " + clusterAdmin + " or namespace-admin:NAMESPACE"},
	}
	shown := frame{Title: "Reach", Lead: "Who can become whom, step by step, denials counted in.", Live: "revision", Content: &c}
	if c.Asked = c.From.Value+c.To.Value != ""; c.To.Value == "" {
		c.To.Value = clusterAdmin
	}
	if !c.Asked {
		return shown, nil
	}
	found, err := q.Reach(ctx, q.caller, console.ReachQuery{From: c.From.Value, To: c.To.Value})
	var wrong *console.Error
	if errors.As(err, &wrong) && wrong.Reason == console.Invalid {
		at := &c.To
		if wrong.Field == "from" {
			at = &c.From
		}
		at.Error, c.Asked, shown.Status = sentence(wrong.Message), false, http.StatusBadRequest
		return shown, nil
	}
	if err != nil {
		return frame{}, err
	}
	c.Reach, c.Picture = found, template.HTML(found.SVG) //nolint:gosec // analysis/reach escapes what it draws
	for i := range found.Paths {
		c.Shown = append(c.Shown, rowOfPath(&found.Paths[i], i))
	}
	return shown, nil
}

func rowOfPath(p *console.ReachPath, path int) pathRow {
	row := pathRow{ReachPath: *p, Badge: classMarks[p.Class]}
	if p.Denied {
		row.Badge = cutMark
	}
	for i := range p.Hops {
		h := hopRow{ReachHop: p.Hops[i], ID: fmt.Sprintf("hop-%d-%d", path, i), Badge: classMarks[p.Hops[i].Class]}
		if len(h.Denies) > 0 {
			h.Badge = cutMark
		}
		for n, r := range h.Requests {
			name := "Ask"
			if len(h.Requests) > 1 {
				name = "Ask " + strconv.Itoa(n+1)
			}
			h.Asks = append(h.Asks, tab{Name: name, Href: askHref("access", r)})
		}
		row.Rows = append(row.Rows, h)
	}
	return row
}
