package reload

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
)

// sequenceFile is the highest sequence number of the bundles that were delivered and not refused.
// It may be that of a bundle that is not stored, because an earlier revision was pinned.
const sequenceFile = "sequence"

// errNotSequence reports a file that is not a sequence number.
var errNotSequence = errors.New("not a sequence number")

// raise records that a bundle with this sequence number was delivered. It is called with r.mu
// held.
func (r *Reloader) raise(sequence int64) {
	r.highest = max(r.highest, sequence)
	if r.state != nil {
		r.state.highest = r.highest
	}
}

// minimumSequence returns the lowest sequence number that Deliver accepts. A rollback
// does not lower it: the sender of an old bundle is not the operator who rolled back. Neither
// does a restart.
func (r *Reloader) minimumSequence() int64 {
	if r.pinned == "" {
		return max(r.highest, r.Current().Loaded().Sequence)
	}
	return r.highest
}

// recallSequence reads the highest sequence number from before a restart. If it is not stored,
// it is that of the last good bundle, which a rollback does not replace.
func (r *Reloader) recallSequence() error {
	if r.state == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	sequence, err := r.state.readSequence()
	if sequence == 0 {
		// A bundle that cannot be read is reported where it is activated.
		if m, unread := r.state.manifest(filepath.Join(r.o.StateDir, stateFile)); unread == nil {
			sequence = m.Metadata.Sequence
		}
	}
	r.raise(sequence)
	return err
}

// readSequence returns the stored sequence number, zero if none is stored.
func (s *state) readSequence() (int64, error) {
	text, exists, err := s.readText(sequenceFile)
	if err == nil && !exists {
		return 0, nil
	}
	var sequence int64
	if err == nil {
		if sequence, err = strconv.ParseInt(text, 10, 64); err != nil || sequence < 0 {
			err = errNotSequence
		}
	}
	if err != nil {
		return 0, fmt.Errorf("read the sequence number of the newest bundle: %w", err)
	}
	s.numbered = sequence
	return sequence, nil
}

// saveSequence writes the highest sequence number if it is not the stored one.
func (s *state) saveSequence() error {
	if s.highest == s.numbered {
		return nil
	}
	if err := s.replace(sequenceFile, strconv.FormatInt(s.highest, 10)); err != nil {
		return fmt.Errorf("write the sequence number of the newest bundle: %w", withoutPath(err))
	}
	s.numbered = s.highest
	return nil
}
