package shrink

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/analysis/replay"
	"github.com/writ-policy/writ/translator/diag"
)

// Report is the result of a run.
type Report struct {
	Revision string `json:"revision"`
	// Written states that the files were changed.
	Written   bool        `json:"written"`
	Edits     []Edit      `json:"edits"`
	NotEdited []NotEdited `json:"notEdited"`
	Summary   Summary     `json:"summary"`
	Log       LogSummary  `json:"log"`
	Holdout   Holdout     `json:"holdout"`
	Proof     Proof       `json:"proof"`
	// Patch is the difference of the files as git apply takes it.
	Patch string `json:"patch,omitempty"`
}

// Summary counts what changes.
type Summary struct {
	Files       int             `json:"files"`
	Edits       int             `json:"edits"`
	Permissions PermissionCount `json:"permissions"`
}

// PermissionCount is the named permissions before and after.
type PermissionCount struct {
	Before int `json:"before"`
	After  int `json:"after"`
}

// LogSummary is what was read of the log.
type LogSummary struct {
	Events    int            `json:"events"`
	Replayed  int            `json:"replayed"`
	Skipped   map[string]int `json:"skipped"`
	Uncertain map[string]int `json:"uncertain"`
	Window    replay.Window  `json:"window"`
	Spared    int            `json:"spared"`
	// Refused is how many events the log has as allowed and the documents refuse: they use nothing.
	Refused int `json:"refused,omitempty"`
	// SpareRefused is how many of the spared requests the documents refuse to begin with.
	SpareRefused int `json:"spareRefused,omitempty"`
}

// Holdout is the events that took no part in the choice.
type Holdout struct {
	Percent int    `json:"percent"`
	Events  int    `json:"events"`
	Lost    int    `json:"lost"`
	PutBack bool   `json:"putBack"`
	Losses  []Loss `json:"losses"`
}

// Proof is what was checked of the result.
type Proof struct {
	Diff       Check `json:"diff"`
	Replay     Check `json:"replay"`
	Assertions Check `json:"assertions"`
	Tests      Check `json:"tests"`
	Minimal    Check `json:"minimal"`
	Idempotent Check `json:"idempotent"`
}

// Check is one part of a proof.
type Check struct {
	Holds bool `json:"holds"`
	// Count is the number of losses, events, assertions, cases or edits that were looked at.
	Count int `json:"count"`
	// Lost is the number of events that are refused, of the proof by replay.
	Lost int `json:"lost,omitempty"`
	// Counterexamples show why it does not hold.
	Counterexamples []any `json:"counterexamples,omitempty"`
	// Text states the result.
	Text string `json:"text"`
}

// Failures returns the checks that do not hold, a line each.
func (p *Proof) Failures() []string {
	var out []string
	for _, c := range []struct {
		name string
		*Check
	}{{"diff", &p.Diff}, {"replay", &p.Replay}, {"assertions", &p.Assertions}, {"tests", &p.Tests}, {"minimal", &p.Minimal}, {"idempotent", &p.Idempotent}} {
		if !c.Holds {
			out = append(out, c.name+": "+c.Text)
		}
	}
	return out
}

// width is that of a terminal.
const width = 80

// Text returns the report for people.
func (r *Report) Text() string {
	var out diag.Lines
	wide := 0
	for i := range r.Edits {
		wide = max(wide, min(len(r.Edits[i].Source), 24))
	}
	for i := range r.Edits {
		e := &r.Edits[i]
		line := fmt.Sprintf("%-*s  %s", wide, e.Source, e.Text)
		if len(line)+3+len(e.Evidence) <= width {
			out.Addf("%s   %s", line, e.Evidence)
			continue
		}
		out.Addf("%s", line)
		out.Addf("    %s", e.Evidence)
	}
	for _, n := range r.NotEdited {
		out.Addf("%s  %s: not edited, %s", n.Source, n.Text, n.Reason)
	}
	lost := r.Proof.Replay
	if len(r.Edits) == 0 {
		out.Addf("Nothing to do: nothing can be smaller, the log needs all that may go.")
	} else {
		out.Addf("Smaller: %s, %s named permissions of %s left", diag.Counted(r.Summary.Files, "file"), number(r.Summary.Permissions.After), number(r.Summary.Permissions.Before))
		out.Addf("(principal x verb x kind).")
	}
	out.Addf("%d of %s lost.", lost.Lost, diag.Counted(lost.Count, "event"))
	if n := r.Log.Refused; n > 0 {
		out.Addf("The documents refuse %s that the log has as allowed: is --cluster the", diag.Counted(n, "event"))
		out.Addf("cluster of the log?")
	}
	if n := r.Log.SpareRefused; n > 0 {
		out.Addf("%d of %s of --spare are not allowed to begin with.", n, diag.Counted(r.Log.Spared, "request"))
	}
	r.addHeldOut(&out)
	if len(r.Log.Uncertain) > 0 || len(r.Log.Skipped) > 0 {
		out.Addf("Skipped %s; uncertain %s, counted as used.", countsOf(r.Log.Skipped), countsOf(r.Log.Uncertain))
	}
	out.Addf("A log proves use, never uselessness: it covers %s.", r.Log.covers())
	return out.String()
}

// addHeldOut states what the choice would have lost of the events held out.
func (r *Report) addHeldOut(out *diag.Lines) {
	if r.Holdout.Percent == 0 {
		return
	}
	text := fmt.Sprintf("%s of %s held out", number(r.Holdout.Lost), number(r.Holdout.Events))
	switch {
	case r.Holdout.Lost == 0:
		out.Addf("%s would have been lost.", text)
	case r.Holdout.PutBack:
		out.Addf("%s would have been lost, put back:", text)
	default:
		out.Addf("%s are lost:", text)
	}
	for i := range r.Holdout.Losses[:min(len(r.Holdout.Losses), longest)] {
		l := &r.Holdout.Losses[i]
		out.Addf("  %s (%s:%d)", strings.Join(l.Sources[:min(len(l.Sources), 3)], ", "), l.Log, l.Line)
	}
	if more := len(r.Holdout.Losses) - longest; more > 0 {
		out.Addf("  and %d more, -o json lists them", more)
	}
}

func countsOf(counts map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %s", name, number(counts[name])))
	}
	return cmp.Or(strings.Join(parts, ", "), "none")
}

// covers states how long the log is.
func (l *LogSummary) covers() string {
	if l.Window.First == nil {
		return "an unknown time"
	}
	return diag.Counted(l.Days(), "day")
}

// Days returns the number of whole days from the first event to the last.
func (l *LogSummary) Days() int {
	if l.Window.First == nil {
		return 0
	}
	return int(l.Window.Last.Sub(*l.Window.First) / (24 * time.Hour))
}
