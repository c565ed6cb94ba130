package git

import (
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// objectStore is where commits, trees and blobs are read from.
type objectStore = storer.EncodedObjectStorer

// maxStructure bounds what is read of one commit, tag or folder.
const maxStructure = 32 << 20

// checkedObjects gives commits, tags and folders that are what their hash says: an
// object that was damaged on disk must not be taken for the one that was signed.
// Blobs are checked by those who read them, who know how large they may be.
type checkedObjects struct {
	storer.EncodedObjectStorer // what is asked for nowhere

	find func(plumbing.ObjectType, plumbing.Hash) (plumbing.EncodedObject, error)
}

// EncodedObject is the object of a hash, if it is of that kind.
func (c checkedObjects) EncodedObject(kind plumbing.ObjectType, hash plumbing.Hash) (plumbing.EncodedObject, error) {
	found, err := c.find(kind, hash)
	if err != nil {
		return nil, err
	}
	if kind != plumbing.AnyObject && found.Type() != kind {
		return nil, plumbing.ErrObjectNotFound
	}
	if found.Type() == plumbing.BlobObject {
		return found, nil
	}
	if found.Size() > maxStructure {
		return nil, fmt.Errorf("%s %s has more than the %d bytes that are read", found.Type(), hash, maxStructure)
	}
	content, err := contentOf(found)
	if err != nil {
		return nil, err
	}
	if err := checkHash(found.Type(), content, hash); err != nil {
		return nil, err
	}
	checked := &plumbing.MemoryObject{}
	checked.SetType(found.Type())
	_, err = checked.Write(content)
	return checked, err
}

// contentOf is an object's content, which is as long as the object says.
func contentOf(o plumbing.EncodedObject) ([]byte, error) {
	reader, err := o.Reader()
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	content, err := io.ReadAll(io.LimitReader(reader, o.Size()+1))
	if err == nil && int64(len(content)) != o.Size() {
		err = fmt.Errorf("not the %d bytes it should have", o.Size())
	}
	return content, err
}

func checkHash(kind plumbing.ObjectType, content []byte, want plumbing.Hash) error {
	if got := plumbing.ComputeHash(kind, content); got != want {
		return fmt.Errorf("%s %s is damaged: its content is that of %s", kind, want, got)
	}
	return nil
}
