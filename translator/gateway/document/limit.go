package document

import (
	"regexp"

	"github.com/writ-policy/writ/translator/cel"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

var windowForm = regexp.MustCompile(`^([0-9]{1,5}(h|m|s|ms)){1,4}$`)

// limits reads the limits of a RateLimitPolicy or a TokenRateLimitPolicy.
func (r *ruleReader) limits(c *syntax.Cursor) {
	r.each(c, "limits", func(f *syntax.Field) {
		if inner := r.d.Cursor(f.Value, "a limit", false); inner != nil {
			inner.At = f.Key
			r.rates(inner)
			counters, _ := inner.List("counters")
			for _, n := range counters {
				r.counter(n)
			}
			if when := inner.Field("when"); when != nil && !when.Value.IsNull() {
				r.conditions(when)
			}
			inner.Done()
		}
		r.add("limits."+f.Key.Value, f, nil)
	})
}

func (r *ruleReader) rates(c *syntax.Cursor) {
	items, _ := c.List("rates")
	for _, n := range items {
		rate := r.d.Cursor(n, "a rate", false)
		if rate == nil {
			continue
		}
		if rate.Value("limit") == nil {
			rate.Missing("limit", "")
		}
		rate.Integer("limit", 0, syntax.MaxInteger)
		if window := rate.Required("window"); window != nil && !windowForm.MatchString(window.Value) {
			r.d.Fail(window, diag.Value, "write it like 10s, 1m or 24h", "window %s must be a duration", syntax.Quote(window.Value))
		}
		rate.Done()
	}
}

func (r *ruleReader) counter(n *syntax.Node) {
	c := r.d.Cursor(n, "a counter", false)
	if c == nil {
		return
	}
	if f := c.Field("expression"); f != nil && !f.Value.IsNull() {
		decodeCel(r.d, f.Key, f.Value, cel.CheckCounter)
	} else {
		c.Missing("expression", "")
	}
	c.Done()
}
