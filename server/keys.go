package server

import (
	"errors"
	"io/fs"
	"sync"

	"github.com/writ-policy/writ/bundles"
)

// keys are those of bundles, read again when they change. A key that is revoked, or
// gone from the file, accepts no further bundle; what is served already serves on:
// to answer nothing would be worse than to answer as before, and whoever withdraws a
// key decides what is to be served in its place. That it is so is said everywhere.
//
// It is safe for concurrent use.
type keys struct {
	*bundles.Keys
	s *Server

	mu        sync.Mutex // held to read the files and to read and write the rest
	reading   reading
	failed    string
	withdrawn string // the key that was last said to be
}

// KeysStatus says how the keys of bundles are.
type KeysStatus struct {
	// SignedBy is the key that signed what is served, State what may be done with it now.
	// It is revoked too where it is not one of the keys any more.
	SignedBy string           `json:"signedBy"`
	State    bundles.KeyState `json:"state,omitempty"`
	// LastError is why the file was not read again; the keys are those before.
	LastError string `json:"lastError"`
}

func (s *Server) readKeys(path string) (*keys, error) {
	read, err := bundles.ReadKeys(path)
	if err != nil {
		return nil, err
	}
	return &keys{Keys: read, s: s}, nil
}

// of is the keys themselves; nil where there are none.
func (k *keys) of() *bundles.Keys {
	if k == nil {
		return nil
	}
	return k.Keys
}

// refresh reads the files again if they have changed, and looks whether what is served
// would still be accepted.
func (k *keys) refresh() {
	k.mu.Lock()
	defer k.mu.Unlock()
	changed, err := k.Reload()
	k.reading.tell(k.s.log, "keys of bundles", changed, err)
	k.failed = withoutPath(err)
	if changed {
		k.s.sources.poke() // what was refused may be good now
	}
	signer := k.s.reloader.Signer()
	withdrawn := signer.ID != "" && k.State(signer) == bundles.KeyRevoked
	k.s.metrics.KeyWithdrawn(withdrawn)
	switch {
	case withdrawn && k.withdrawn != signer.ID:
		k.withdrawn = signer.ID
		k.s.log.Error("what is served is signed by a key that is revoked: it serves on, and is refused after a restart",
			"key", signer.ID, "revision", k.s.reloader.Revision())
	case !withdrawn:
		k.withdrawn = ""
	}
}

// withoutPath is an error as the status shows it: the machine's paths are in the log.
func withoutPath(err error) string {
	var at *fs.PathError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &at):
		return "a file of keys cannot be read: " + at.Err.Error()
	}
	return err.Error()
}

func (k *keys) status() *KeysStatus {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	status := &KeysStatus{LastError: k.failed}
	if signer := k.s.reloader.Signer(); signer.ID != "" {
		status.SignedBy, status.State = signer.ID, k.State(signer)
	}
	return status
}
