//go:build !linux

package source

import "errors"

// distrust returns why events do not report every change in a folder, nil if they do. The
// order of events is known of Linux alone.
func distrust(string) error { return errors.New("events of this system have no order") }
