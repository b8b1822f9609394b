//! The data sets that are bundled with the program: the texts of the folders beside this file.
//! `recap-formats` reads them.

include!(concat!(env!("OUT_DIR"), "/files.rs"));
