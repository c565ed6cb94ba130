package source

import "cmp"

// DefaultMaxFileBytes is the default of Limits.MaxFileBytes.
const DefaultMaxFileBytes = 64 << 20

const (
	defaultMaxBytes   = 1 << 30
	defaultMaxEntries = 1 << 20
)

// Limits bound what is read from one source. Zero fields stand for the defaults.
type Limits struct {
	// MaxFileBytes bounds one file, 64 MiB by default.
	MaxFileBytes int64
	// MaxBytes bounds all files together, 1 GiB by default.
	MaxBytes int64
	// MaxEntries bounds the number of files and folders, 1,048,576 by default.
	MaxEntries int
}

// WithDefaults returns l with each zero field replaced by its default.
func (l Limits) WithDefaults() Limits {
	l.MaxFileBytes = cmp.Or(l.MaxFileBytes, DefaultMaxFileBytes)
	l.MaxBytes = cmp.Or(l.MaxBytes, defaultMaxBytes)
	l.MaxEntries = cmp.Or(l.MaxEntries, defaultMaxEntries)
	return l
}
