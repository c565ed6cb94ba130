package document

import (
	"regexp"

	"github.com/writ-policy/writ/translator/cel"
	"github.com/writ-policy/writ/translator/diag"
)

var windowForm = regexp.MustCompile(`^([0-9]{1,5}(h|m|s|ms)){1,4}$`)

// limits reads the limits of a RateLimitPolicy.
func (r *ruleReader) limits(c *cursor) {
	r.each(c, "limits", func(f *field) {
		if inner := r.d.cursor(f.value, "a limit", false); inner != nil {
			inner.at = f.key
			r.rates(inner)
			counters, _ := inner.list("counters")
			for _, n := range counters {
				r.counter(n)
			}
			if when := inner.field("when"); when != nil && !when.value.isNull() {
				r.conditions(when)
			}
			inner.done()
		}
		r.add("limits."+f.key.value, f, nil)
	})
}

func (r *ruleReader) rates(c *cursor) {
	items, _ := c.list("rates")
	for _, n := range items {
		rate := r.d.cursor(n, "a rate", false)
		if rate == nil {
			continue
		}
		if rate.value("limit") == nil {
			rate.missing("limit", "")
		}
		rate.integer("limit", 0, maxInteger)
		if window := rate.required("window"); window != nil && !windowForm.MatchString(window.value) {
			r.d.fail(window, diag.Value, "write it like 10s, 1m or 24h", "window %s is no duration", quote(window.value))
		}
		rate.done()
	}
}

func (r *ruleReader) counter(n *node) {
	c := r.d.cursor(n, "a counter", false)
	if c == nil {
		return
	}
	if f := c.field("expression"); f != nil && !f.value.isNull() {
		r.d.cel(f.key, f.value, cel.CheckCounter)
	} else {
		c.missing("expression", "")
	}
	c.done()
}
