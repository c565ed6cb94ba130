package translator

import "github.com/writ-policy/writ/translator/tables"

// PolicyConditions returns, by locator, which gateway policies are accepted, if the
// last snapshot had errors. It is nil if it had none: then the tables of the result
// hold the conditions.
func (t *Translator) PolicyConditions() map[string][]tables.GatewayCondition {
	t.mu.Lock()
	defer t.mu.Unlock()
	if gateway := tables.Of[*tables.Gateway](t.rejected); gateway != nil {
		return gateway.Accepted()
	}
	return nil
}
