package change

import (
	"slices"

	"github.com/writ-policy/writ/translator/change/statement"
)

// Kind names the change from one outcome to another at a point.
func Kind(point, from, to string) string { return changeOf(point, from, to) }

// Kinds returns the kinds of changes, most dangerous first. The caller owns the list.
func Kinds() []string { return slices.Clone(changeKinds) }

// Counts reports whether a kind of change counts for gain, loss, any or none.
func Counts(on, kind string) bool {
	switch on {
	case "gain":
		return kind == changeGain || kind == changeRelax
	case "loss":
		return kind == changeLoss || kind == changeTighten
	}
	return on == "any"
}

// changeKinds are the kinds of changes, most dangerous first.
var changeKinds = []string{changeGain, changeRelax, changeLoss, changeTighten, changeOther}

// changeOf names the change from one outcome to another.
func changeOf(point, from, to string) string {
	if point == statement.PointVisibility {
		ranks := map[string]int{statement.OutcomePartial: 1, statement.OutcomeAllow: 2, statement.OutcomeShown: 2}
		if ranks[to] > ranks[from] {
			return changeGain
		}
		return changeLoss
	}
	switch {
	case to == statement.OutcomeAllow:
		return changeGain
	case from == statement.OutcomeAllow:
		return changeLoss
	case from == statement.OutcomeNone:
		return changeTighten
	case to == statement.OutcomeNone:
		return changeRelax
	}
	return changeOther
}

// The kinds of changes, most dangerous first.
const (
	changeGain    = "gain"
	changeRelax   = "relax"
	changeLoss    = "loss"
	changeTighten = "tighten"
	changeOther   = "other"
)
