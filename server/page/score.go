package page

import (
	"fmt"
	"strings"

	"github.com/writ-policy/writ/server/view"
)

// score is the score of a pod among the thresholds of a policy.
type score struct {
	view.Score
	Badge mark
	// Label describes the picture, and Legend the thresholds.
	Label, Legend string
	Bands         []band
	// At is where the score stands in the picture.
	At string
	// Anchor is where its number stands: start, middle or end.
	Anchor string
}

// band is the scores up to a threshold.
type band struct {
	X, Width, End string
	Class         string
	Max           int
	Last          bool
}

// scoreWidth is the width of the picture.
const scoreWidth = 420

func actionMark(action string) mark {
	switch action {
	case "allow":
		return mark{"allow", "check", "allow"}
	case "warn":
		return mark{"warn", "warning", "warn"}
	}
	return mark{"deny", "cross", action}
}

func scoreOf(s *view.Score) score {
	shown := score{Score: *s, Badge: actionMark(s.Action)}
	largest := s.Score
	for _, t := range s.Thresholds {
		largest = max(largest, t.MaxScore)
	}
	scale := scoreWidth / (1.08 * float64(max(1, largest)))
	x, action := 0.0, "deny"
	var words []string
	for _, t := range s.Thresholds {
		end := max(x, float64(t.MaxScore)*scale)
		shown.Bands = append(shown.Bands, band{decimal(x), decimal(end - x), decimal(end), actionMark(t.Action).Class, t.MaxScore, false})
		words = append(words, fmt.Sprintf("up to %d %s", t.MaxScore, t.Action))
		x = end
	}
	shown.Bands = append(shown.Bands, band{X: decimal(x), Width: decimal(scoreWidth - x), Class: actionMark(action).Class, Last: true})
	words = append(words, "above: "+action)
	shown.Legend = strings.Join(words, ", ")
	shown.Label = fmt.Sprintf("Score %d: %s. Thresholds: %s", s.Score, s.Action, shown.Legend)
	at := float64(s.Score) * scale
	shown.At, shown.Anchor = decimal(at), "middle"
	if at < 20 {
		shown.Anchor = "start"
	} else if at > scoreWidth-20 {
		shown.Anchor = "end"
	}
	return shown
}
