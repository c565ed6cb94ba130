package visibility

import (
	"encoding/json"
	"errors"
	"iter"

	"github.com/writ-policy/writ/server/decision"
)

// ofText is how many times the size of its JSON an item takes as OPA's input.
const ofText = 16

// FilterWhole is FilterItems for decisions that something else makes of whole requests:
// decide gets the JSON of the list of all items, nil without items. They are read within
// the bounds of what requests may keep of their items.
func (p *Policies) FilterWhole(items iter.Seq2[decision.Item, error], decide func(items []byte) decision.VisibilityDecision, yield func(int) error) (decision.VisibilityDecision, error) {
	c := newColumns(nil, p.options.MaxColumns, p.options.Columns)
	defer c.release()
	var text []byte
	if items != nil {
		var err error
		if text, err = c.collect(items); err != nil {
			var failed *filterError
			if !errors.As(err, &failed) {
				return decision.VisibilityDecision{}, err
			}
			p.recordRefusal(failed.cause)
			return p.failedFilter(failed.cause), nil
		}
	}
	d := decide(text)
	visible := d.Visible
	d.Visible = []int{}
	for _, index := range visible {
		if err := yield(index); err != nil {
			return d, err
		}
	}
	return d, nil
}

// collect returns the JSON of the list of items, which it charges.
func (c *columns) collect(items iter.Seq2[decision.Item, error]) ([]byte, error) {
	list := []byte("[")
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(&item)
		if err != nil {
			return nil, &filterError{err}
		}
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = append(list, text...)
		c.bytes += ofText * len(text)
		if err := c.charge(); err != nil {
			return nil, &filterError{err}
		}
	}
	return append(list, ']'), nil
}
