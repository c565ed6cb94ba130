package question

import (
	"bytes"

	"github.com/writ-policy/writ/analysis/statement"
)

// Stated are the statements of an answer.
type Stated []*statement.Statement

// Stated returns the statements that fit a question who can do something.
func (a *Asker) Stated(q *Question) Stated {
	if err := a.prepare(q); err != nil {
		panic(err)
	}
	return a.fit(q).all
}

// Outcome is what the statements come to for a request of some principals.
func (s Stated) Outcome(object map[string]any, principals []string) string {
	var q statement.Request
	for _, set := range statement.Setters(object, nil) {
		set(&q)
	}
	var lowest *statement.Statement
	for _, t := range s {
		if t.Holds(principals) && t.Fits(&q) && (lowest == nil || bytes.Compare(t.Rank, lowest.Rank) < 0 || bytes.Equal(t.Rank, lowest.Rank) && t.Effect == statement.OutcomeDeny) {
			lowest = t
		}
	}
	if lowest == nil {
		return statement.OutcomeNone
	}
	return lowest.Effect
}
