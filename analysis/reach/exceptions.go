package reach

import (
	"fmt"
	"slices"
	"time"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/tables"
)

// Exception is a path that is known and accepted: of one class or a worse one.
type Exception struct {
	From   tables.PathGlob // of the subject
	Text   string          // the pattern as it is written
	To     string
	Class  Class // the best class that is excepted; Certain for any
	Until  *time.Time
	Reason string
}

// except moves the paths that exceptions fit out of the report. One that is over does not
// count, and one that fits nothing is a note.
func (r *Report) except(list []Exception, now time.Time) {
	for i := range list {
		e := &list[i]
		if e.Until != nil && !now.Before(*e.Until) {
			r.Notes = append(r.Notes, fmt.Sprintf("the exception of %s to %s ended %s", e.Text, e.To, e.Until.UTC().Format(time.RFC3339)))
			continue
		}
		fits := func(p Path) bool { return e.To == p.To && p.Class >= e.Class && e.From.Match(p.Subject) }
		n := len(r.Excepted)
		r.Excepted = append(r.Excepted, elements.Filter(r.Paths, fits)...)
		if r.Paths = slices.DeleteFunc(r.Paths, fits); len(r.Excepted) == n {
			r.Notes = append(r.Notes, fmt.Sprintf("the exception of %s to %s fits no path", e.Text, e.To))
		}
	}
}
