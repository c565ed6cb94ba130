package settings

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

// acceptedKey is the key of File.Accepted.
const acceptedKey = "accepted"

// Acceptance states that warnings of a code are known and not reported.
type Acceptance struct {
	Code diag.Code
	// Path is a pattern of files of the source, as in a .writignore.
	Path string
	// Until is the last day on which it holds, in UTC; zero for ever.
	Until  time.Time
	Reason string
	At     diag.Position
}

// CheckAcceptable returns an error for a code that does not exist or cannot be accepted.
func CheckAcceptable(code diag.Code) error {
	if diag.IsAcceptable(code) {
		return nil
	}
	if _, known := diag.Explain(code); known {
		return fmt.Errorf("%s cannot be accepted", code)
	}
	codes := elements.Map(diag.Explanations(), func(e diag.Explanation) string { return string(e.Code) })
	text := "no code is " + syntax.Quote(string(code))
	if near := diag.Suggest(string(code), codes); near != "" {
		text += "; did you mean " + syntax.Quote(near) + "?"
	}
	return errors.New(text)
}

func (f *File) readAccepted(d *syntax.Decoder, c *syntax.Cursor) {
	items, _ := c.List(acceptedKey)
	for _, n := range items {
		item := d.Cursor(n, acceptedKey, false)
		if item == nil {
			continue
		}
		a := Acceptance{At: d.At(n)}
		before := d.Reported()
		if code := item.Required("code"); code != nil {
			a.Code = diag.Code(code.Value)
			if err := CheckAcceptable(a.Code); err != nil {
				d.Fail(code, diag.BadValue, "", "%v", err)
			}
		}
		if path := item.Required("path"); path != nil {
			a.Path = path.Value
			if strings.ContainsAny(a.Path, "\n\r") || strings.HasPrefix(a.Path, "!") || strings.HasPrefix(a.Path, "#") {
				d.Fail(path, diag.BadValue, `write a file, a folder, or "**" for all files`, "path must be a pattern of files")
			}
		}
		a.Reason = item.Required("reason").Text()
		if until := item.Text("until"); until != nil {
			var err error
			if a.Until, err = time.Parse(time.DateOnly, until.Value); err != nil {
				d.Fail(until, diag.BadValue, "", "until must be a date such as 2026-01-31")
			}
		}
		item.Done()
		if d.Reported() == before {
			f.Accepted = append(f.Accepted, a)
		}
	}
}
