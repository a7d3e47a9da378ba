//! Bodies of fuzz targets over more than one crate. All others are functions of the crate that they test.

#[cfg(feature = "tools")]
pub mod dialects;
#[cfg(feature = "tools")]
pub mod second_reading;
